# Objects are compiled for one server.  The file server.stamp names it; if
# PG_CONFIG names another server, make compiles the objects again.  Include this
# file after PGXS.
SERVER := $(shell $(PG_CONFIG) --version) $(shell $(PG_CONFIG) --includedir-server)
ifneq ($(shell cat server.stamp 2>/dev/null),$(SERVER))
$(shell echo '$(SERVER)' >server.stamp)
ifneq ($(shell cat server.stamp 2>/dev/null),$(SERVER))
$(error The objects here are for another server, and you may not replace them)
endif
endif
$(OBJS) $(addsuffix .o,$(MODULES)): server.stamp

clean: clean-server-stamp
clean-server-stamp:
	rm -f server.stamp

.PHONY: clean-server-stamp
