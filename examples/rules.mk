# The rules for examples, and for what make demo shows of them.

EXAMPLES  := $(foreach d,$(wildcard examples/*),$(if $(wildcard $(d)/*.c),$(notdir $(d))))

.PHONY: examples
examples: $(BUILD)/lib/libshmem.so $(EXAMPLES:%=$(BUILD)/examples/%)

define example_rule
$(BUILD)/examples/$(1): $(wildcard examples/$(1)/*.c) $(wildcard examples/$(1)/*.h) $(HEADERS_OWN) $(BUILD)/lib/libshmem.so
	@mkdir -p $$(@D)
	$(CC) $(CFLAGS_C) -O2 -g -pthread -Iinclude -o $$@ $(wildcard examples/$(1)/*.c) -L$(BUILD)/lib -lshmem -lm
endef
$(foreach e,$(EXAMPLES),$(eval $(call example_rule,$(e))))

# One of C++.
examples: $(BUILD)/examples/pagedfill
$(BUILD)/examples/pagedfill: $(wildcard examples/pagedfill/*.cc examples/pagedfill/*.h) $(HEADERS_OWN) $(BUILD)/lib/libshmem.so
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -Wall -Wextra -Werror -O2 -g -Iinclude -o $@ $(filter %.cc,$^) -L$(BUILD)/lib -lshmem

# What the demo runs, and nothing else: a first build of the rest takes as long again. The model is
# first, so that it is fetched while the longest of the others is built.
MODEL := $(BUILD)/data/all-minilm-l6-v2.safetensors
DEMO  := $(MODEL) $(BUILD)/lib/libshmem_core.so $(BUILD)/lib/libshmem.so $(BUILD)/bin/shmemrun $(BUILD)/examples/ring $(BUILD)/examples/reshard
$(MODEL):
	@scripts/setup model

# For a make within a recipe: as many jobs as processors, if the caller has not said how many.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
