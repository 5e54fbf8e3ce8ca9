/* The scripts hold no lists: they ask the program (`limactl-c __complete`), which answers from its tables. Bash's runs in
 * the 3.2 that macOS has. */
#include <string.h>

#include "limactl-c/cli/completion.h"

static const char bash[] =
	"# Completion of limactl-c for bash: source <(limactl-c completion bash)\n"
	"_limactl_c() {\n"
	"	local words=() n=0 i word glue='' line files='' lead\n"
	"	# Readline splits words at : and =, which belong to them here.\n"
	"	for ((i = 1; i <= COMP_CWORD; i++)); do\n"
	"		word=${COMP_WORDS[i]}\n"
	"		if ((n > 0)) && [[ $word == [:=]* || ($glue && $word) ]]; then\n"
	"			words[n - 1]+=$word\n"
	"		else\n"
	"			words[n++]=$word\n"
	"		fi\n"
	"		glue=\n"
	"		if [[ $word == *[:=] ]]; then glue=1; fi\n"
	"	done\n"
	"	# What stands before the part that readline replaces.\n"
	"	word=${COMP_WORDS[COMP_CWORD]}\n"
	"	lead=${words[n - 1]}\n"
	"	if [[ $word != *[:=] ]]; then lead=${lead%\"$word\"}; fi\n"
	"	COMPREPLY=()\n"
	"	while IFS= read -r line; do\n"
	"		case $line in\n"
	"		:files) files=1 ;;\n"
	"		*)\n"
	"			line=${line%%$'\\t'*}\n"
	"			COMPREPLY+=(\"${line#\"$lead\"}\")\n"
	"			;;\n"
	"		esac\n"
	"	done < <(\"${1/#~/$HOME}\" __complete -- \"${words[@]}\" 2>/dev/null)\n"
	"	if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi\n"
	"	if [[ $files ]]; then\n"
	"		if ((${#COMPREPLY[@]} == 0)); then compopt -o filenames 2>/dev/null; fi\n"
	"		word=${words[n - 1]#\"$lead\"}\n"
	"		while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -f -- \"$word\")\n"
	"	fi\n"
	"}\n"
	"complete -F _limactl_c limactl-c\n";

static const char zsh[] =
	"#compdef limactl-c\n"
	"# Completion of limactl-c for zsh: source <(limactl-c completion zsh), or as _limactl-c in a folder of $fpath.\n"
	"_limactl_c() {\n"
	"	local line word help files= nothing=1\n"
	"	local -a found open\n"
	"	for line in \"${(@f)$(\"${(Q)words[1]/#\\~/$HOME}\" __complete -- \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
	"		case $line in\n"
	"		:files) files=1 ;;\n"
	"		?*)\n"
	"			word=${${line%%$'\\t'*}//:/\\\\:}\n"
	"			help=\n"
	"			if [[ $line == *$'\\t'* ]]; then help=:${line#*$'\\t'}; fi\n"
	"			if [[ $word == *= ]]; then open+=(\"$word$help\"); else found+=(\"$word$help\"); fi\n"
	"			;;\n"
	"		esac\n"
	"	done\n"
	"	(( $#found )) && _describe -t values 'limactl-c' found && nothing=0\n"
	"	(( $#open )) && _describe -t values 'limactl-c' open -S '' && nothing=0\n"
	"	[[ -n $files ]] && _files && nothing=0\n"
	"	return nothing\n"
	"}\n"
	"if [[ ${funcstack[1]} == _limactl-c ]]; then _limactl_c \"$@\"; else compdef _limactl_c limactl-c; fi\n";

static const char fish[] =
	"# Completion of limactl-c for fish: limactl-c completion fish | source\n"
	"function __limactl_c_complete\n"
	"	set -l words (commandline -opc)\n"
	"	set -l last (commandline -ct)\n"
	"	for line in ($words[1] __complete -- $words[2..-1] \"$last\" 2>/dev/null)\n"
	"		if test \"$line\" = :files\n"
	"			__fish_complete_path \"$last\"\n"
	"		else\n"
	"			echo $line\n"
	"		end\n"
	"	end\n"
	"end\n"
	"complete -c limactl-c -f -a '(__limactl_c_complete)'\n";

static const struct {
	const char *shell, *text;
} scripts[] = {
	{ "bash", bash },
	{ "zsh", zsh },
	{ "fish", fish },
};

const char *completion_script(const char *shell)
{
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		if (!strcmp(scripts[i].shell, shell))
			return scripts[i].text;
	return NULL;
}
