# The rules for examples.

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
