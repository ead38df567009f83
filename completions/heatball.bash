# bash completion for heatball(1): commands, options, choices, file names.

_heatball_common='--threads --isa -q --quiet -h --help --version'

_heatball_problem='--problem --drift --noise --initial --param --dim --time --at --samples --lift
    --degree --seed --points --box'

_heatball_options()
{
    case $1 in
    sample) echo "--measure --dim --lift --radius -n --seed --first --dtype --json -o" ;;
    constants) echo "--dim --lift --json" ;;
    budget) echo "--dim --drift-sup --div-sup --theta --u0-min --u0-max --u0-grad --at --json" ;;
    solve)
        echo "$_heatball_problem --method --stderr --stderr-score --max-time --paths --path-times
            --state --resume --radius --json -o --plot"
        ;;
    residual) echo "$_heatball_problem --radii --quantity --json -o" ;;
    data) echo "-n --process --tau --seed --json -o --plot" ;;
    study) echo "--quick --seeds --resume --seed -o" ;;
    reproduce) echo "--quick --only --resume --seed -o" ;;
    esac
}

_heatball()
{
    local commands='sample constants budget solve residual data study reproduce'
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "$commands help --help --version" -- "$word"))
        return
    fi
    # bash splits --opt=value at the sign: the option is then two words back
    if [[ $word == '=' ]]; then
        word=
    elif [[ $before == '=' ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    [[ $before == study && $word == -* ]] && before=
    local sets='asymmetric_gmm sparse_dense_gmm elongated_gmm two_spiral ring pinwheel two_moon
        double_ring'
    if [[ $command == data && $word != -* ]]; then
        case $before in
        data) COMPREPLY=($(compgen -W 'list show export' -- "$word")) && return ;;
        show | export) COMPREPLY=($(compgen -W "$sets" -- "$word")) && return ;;
        esac
    fi
    case $before in
    help) COMPREPLY=($(compgen -W "$commands" -- "$word")) ;;
    --measure) COMPREPLY=($(compgen -W 'kappa source gradient' -- "$word")) ;;
    --dtype) COMPREPLY=($(compgen -W 'f64 f32' -- "$word")) ;;
    --isa) COMPREPLY=($(compgen -W 'auto avx512 avx2 sse2 scalar' -- "$word")) ;;
    --method) COMPREPLY=($(compgen -W 'auto grid particles walk meanvalue all' -- "$word")) ;;
    --process) COMPREPLY=($(compgen -W 'ou ve' -- "$word")) ;;
    --quantity) COMPREPLY=($(compgen -W 'u v w' -- "$word")) ;;
    --only | study) COMPREPLY=($(compgen -W 'sampler bistable' -- "$word")) ;;
    -o | --plot | --problem | --at | --paths | --path-times | --state)
        local IFS=$'\n'
        compopt -o filenames 2>/dev/null
        if [[ $command == budget ]]; then
            :
        elif [[ $command == sample || $command == solve || $command == residual || $command == data ]]; then
            COMPREPLY=($(compgen -f -- "$word"))
        else
            COMPREPLY=($(compgen -d -- "$word"))
        fi
        ;;
    --dim | --lift | --radius | -n | --seed | --first | --threads | --seeds) ;;
    --drift-sup | --div-sup | --theta | --u0-min | --u0-max | --u0-grad) ;;
    --drift | --noise | --initial | --param | --time | --samples | --degree | --points | --box) ;;
    --radii | --stderr | --stderr-score | --max-time | --tau) ;;
    *) COMPREPLY=($(compgen -W "$(_heatball_options "$command") $_heatball_common" -- "$word")) ;;
    esac
}

complete -F _heatball heatball
