package definition

import "strings"

// A definition may come from a file that somebody else has written ("mcp import", a page that says "paste this"). Its env must
// not turn a harmless command into another program. It is matched without regard to case: Windows has none.

// envAllowed are variables that carry a credential or a setting of the server. They are let through whatever else is blocked.
var envAllowed = nameSet(`
	GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN NPM_TOKEN NODE_AUTH_TOKEN
	DATABASE_URL MONGODB_URI REDIS_URL AMQP_URL
	AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_REGION AWS_DEFAULT_REGION AWS_PROFILE
	AZURE_CLIENT_ID AZURE_CLIENT_SECRET AZURE_TENANT_ID
	HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY`)

// envBlocked are variables with which somebody else's code is run before, beside or instead of the server's.
var envBlocked = nameSet(`
	GCONV_PATH GLIBC_TUNABLES LOCPATH GETCONF_DIR
	ENV BASH_ENV KSH_ENV PS4 SHELLOPTS BASHOPTS BASH_LOADABLES_PATH PROMPT_COMMAND IFS CDPATH FPATH ZDOTDIR SHELL COMSPEC
	NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_V8_COVERAGE NODE_REDIRECT_WARNINGS ELECTRON_RUN_AS_NODE BUN_OPTIONS BUN_INSPECT_PRELOAD
	NPM_CONFIG_NODE_OPTIONS NPM_CONFIG_SCRIPT_SHELL NPM_CONFIG_SHELL NPM_CONFIG_GIT NPM_CONFIG_EDITOR NPM_CONFIG_VIEWER
	NPM_CONFIG_INIT_MODULE NPM_CONFIG_ONLOAD_SCRIPT NPM_CONFIG_NODE_GYP NPM_CONFIG_PYTHON NPM_CONFIG_USERCONFIG NPM_CONFIG_GLOBALCONFIG NPM_CONFIG_PREFIX
	YARN_RC_FILENAME YARN_YARN_PATH
	PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT PYTHONUSERBASE PYTHONEXECUTABLE PYTHONPLATLIBDIR
	PYTHONWARNINGS PYTHONPYCACHEPREFIX PYTHON_PRESITE PYTHON_BASIC_REPL
	PERL5OPT PERL5LIB PERLLIB PERL5DB PERL5DBCMD PERL5SHELL
	RUBYOPT RUBYLIB RUBYSHELL RUBYGEMS_GEMDEPS GEM_HOME GEM_PATH BUNDLE_GEMFILE
	PHPRC PHP_INI_SCAN_DIR R_PROFILE R_PROFILE_USER R_ENVIRON R_ENVIRON_USER JULIA_LOAD_PATH JULIA_DEPOT_PATH
	JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS CLASSPATH MAVEN_OPTS MAVEN_ARGS GRADLE_OPTS SBT_OPTS ANT_OPTS
	DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS DOTNET_SHARED_STORE
	ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ERL_LIBS ELIXIR_ERL_OPTIONS
	CC CXX RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WRAPPER CARGO_HOME GOFLAGS GOENV
	MAKEFLAGS MFLAGS GNUMAKEFLAGS
	GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_EXEC_PATH GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_ASKPASS GIT_PROXY_COMMAND
	GIT_TEMPLATE_DIR GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
	GIT_NAMESPACE GIT_SSL_NO_VERIFY GIT_SSL_CAINFO GIT_SSL_CAPATH HGRCPATH
	EDITOR VISUAL SUDO_EDITOR FCEDIT PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER SSH_ASKPASS SUDO_ASKPASS
	OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES SSLKEYLOGFILE WGETRC CURL_HOME
	AZURE_AUTH_LOCATION AZURE_CONFIG_DIR AZURE_CLIENT_CERTIFICATE_PATH AZURE_FEDERATED_TOKEN_FILE
	GOOGLE_APPLICATION_CREDENTIALS KUBECONFIG
	JETCLAW_MCP`)

// envBlockedPrefixes are families of such variables. AWS_ is one, as most of them point at files with credentials, and these
// can name programs.
var envBlockedPrefixes = []string{
	"LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "LUA_INIT", "LUA_PATH", "LUA_CPATH", "CORECLR_", "COR_", "CGO_", "TS_NODE_", "AWS_",
}

// envInherited are variables of jetclaw's own environment that a server gets too. They hold no secrets; paths of credential
// files that no definition may set are here, so that there is a way to use them.
var envInherited = nameSet(`
	PATH HOME USER LOGNAME SHELL LANG LANGUAGE TERM TZ TMPDIR TEMP TMP DISPLAY WAYLAND_DISPLAY XAUTHORITY
	HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
	SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
	VOLTA_HOME FNM_DIR FNM_MULTISHELL_PATH ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR PYENV_ROOT
	NPM_CONFIG_REGISTRY NPM_CONFIG_CACHE NPM_CONFIG_PROXY NPM_CONFIG_HTTP_PROXY NPM_CONFIG_HTTPS_PROXY NPM_CONFIG_NOPROXY
	NPM_CONFIG_CAFILE NPM_CONFIG_STRICT_SSL NPM_CONFIG_OFFLINE NPM_CONFIG_PREFER_OFFLINE NPM_CONFIG_USERCONFIG
	DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG DOCKER_TLS_VERIFY DOCKER_CERT_PATH
	AWS_REGION AWS_DEFAULT_REGION AWS_PROFILE AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AWS_WEB_IDENTITY_TOKEN_FILE
	AZURE_CONFIG_DIR GOOGLE_APPLICATION_CREDENTIALS KUBECONFIG
	SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMDATA ALLUSERSPROFILE PUBLIC
	PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES USERNAME USERPROFILE HOMEDRIVE HOMEPATH
	PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS`)

// envInheritedPrefixes are families of such variables, without those whose names speak of secrets.
var envInheritedPrefixes = []string{"LC_", "XDG_", "NVM_", "UV_"}

var envSecretWords = []string{"TOKEN", "PASSWORD", "PASSWD", "SECRET", "AUTH", "CREDENTIAL", "API_KEY", "USERNAME"}

// Blocked says that a definition may not set this variable: an interpreter, the dynamic linker or a shell would run what it
// names, or it is no name of a variable at all. A server starts without it, with a warning.
func Blocked(name string) bool {
	if name == "" || strings.ContainsAny(name, "=\x00\r\n") {
		return true
	}
	name = strings.ToUpper(name)
	if envAllowed[name] {
		return false
	}
	return envBlocked[dashless(name)] || hasAnyPrefix(name, envBlockedPrefixes)
}

// Inherited says that a server gets this variable from jetclaw's own environment. It gets nothing else from there: the
// secrets of jetclaw are none of its business.
func Inherited(name string) bool {
	name = strings.ToUpper(name)
	if envInherited[dashless(name)] {
		return true
	}
	if !hasAnyPrefix(name, envInheritedPrefixes) || Blocked(name) {
		return false
	}
	for _, word := range envSecretWords {
		if strings.Contains(name, word) {
			return false
		}
	}
	return true
}

// dashless is the name as npm reads its settings: there "-" and "_" are the same.
func dashless(name string) string {
	if strings.HasPrefix(name, "NPM_CONFIG_") {
		return strings.ReplaceAll(name, "-", "_")
	}
	return name
}

func hasAnyPrefix(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

func nameSet(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}
