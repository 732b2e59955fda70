# make install [PREFIX=/usr/local] [DESTDIR=...]: programs, manual pages, examples, units for systemd. Nothing is enabled or started.
bindir = $(PREFIX)/bin
mandir = $(PREFIX)/share/man
docdir = $(PREFIX)/share/doc/holdfast
unitdir = $(PREFIX)/lib/systemd/system
libexecdir = $(PREFIX)/libexec
slurmdir = $(PREFIX)/lib/slurm
pythondir = $(PREFIX)/share/holdfast/python
# Published training scripts use --auto-resume where this directory is. An installation for one person makes nothing outside of PREFIX.
hyperpod = $(if $(filter /usr /usr/local,$(PREFIX)),/opt/sagemaker_cluster)
INSTALLED = $(addprefix $(bindir)/,hpd hpctl hp-agent hprun hyperpodrun) $(addprefix $(mandir)/man1/,hpctl.1 hprun.1) $(addprefix $(mandir)/man8/,hpd.8 hp-agent.8 hp-auto-resume.8) \
            $(libexecdir)/hp-auto-resume $(slurmdir)/holdfast_auto_resume.so $(PREFIX)/share/holdfast \
            $(addprefix $(unitdir)/,hpd.service hp-agent.service) $(docdir)

.PHONY: install uninstall
install: all
	install -d $(addprefix $(DESTDIR),$(bindir) $(mandir)/man1 $(mandir)/man8 $(docdir)/examples $(unitdir) $(libexecdir) $(slurmdir) $(pythondir))
	install -m 755 $(BUILD)/hpd $(BUILD)/hpctl $(BUILD)/hp-agent $(BUILD)/hprun $(DESTDIR)$(bindir)
	ln -sf hprun $(DESTDIR)$(bindir)/hyperpodrun
	install -m 644 agents/launcher/python/hprun.py $(DESTDIR)$(pythondir)
	install -m 755 $(BUILD)/hp-auto-resume $(DESTDIR)$(libexecdir)
	$(if $(hyperpod),install -d $(DESTDIR)$(hyperpod))
	install -m 644 $(BUILD)/holdfast_auto_resume.so $(DESTDIR)$(slurmdir)
	install -m 644 docs/man/hpctl.1 docs/man/hprun.1 $(DESTDIR)$(mandir)/man1
	install -m 644 docs/man/hpd.8 docs/man/hp-agent.8 docs/man/hp-auto-resume.8 $(DESTDIR)$(mandir)/man8
	install -m 644 $(wildcard docs/examples/*.*) $(DESTDIR)$(docdir)/examples
	cp -RPf docs/examples/policies docs/examples/providers docs/examples/slurm $(DESTDIR)$(docdir)/examples
	install -m 644 docs/provider-command.schema.json $(DESTDIR)$(docdir)
	cp -RPf dist/prometheus dist/grafana $(DESTDIR)$(docdir)
	install -m 644 README.md CHANGELOG.md SECURITY.md LICENSE openapi.yaml docs/*.md docs/*.png $(DESTDIR)$(docdir)
	sed 's|@bindir@|$(bindir)|' dist/systemd/hpd.service.in >$(DESTDIR)$(unitdir)/hpd.service
	sed 's|@bindir@|$(bindir)|' dist/systemd/hp-agent.service.in >$(DESTDIR)$(unitdir)/hp-agent.service
	sed 's|@bindir@|$(bindir)|' dist/systemd/hp-agent-lifecycle.conf.in >$(DESTDIR)$(docdir)/examples/hp-agent-lifecycle.conf
	install -m 0644 dist/polkit/50-hp-agent-reboot.rules $(DESTDIR)$(docdir)/examples/
	sed 's|@libexecdir@|$(libexecdir)|; s|@slurmdir@|$(slurmdir)|' dist/slurm/plugstack-auto-resume.conf.in >$(DESTDIR)$(docdir)/examples/plugstack-auto-resume.conf

uninstall:
	rm -rf $(addprefix $(DESTDIR),$(INSTALLED))
	$(if $(hyperpod),rmdir --ignore-fail-on-non-empty $(DESTDIR)$(hyperpod) 2>/dev/null || :)

# make deb [DEB_DIR=build/deb]: Debian packages of what is committed, for this release of Debian.
DEB_DIR ?= $(BUILD)/deb
.PHONY: deb
deb:
	@scripts/deps deb
	@scripts/deb $(DEB_DIR)
