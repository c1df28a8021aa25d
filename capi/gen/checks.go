package main

func checks() []file { return nil }
