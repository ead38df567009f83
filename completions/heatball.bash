# bash completion for heatball(1): commands, options, choices, file names.

_heatball_common='--threads -q --quiet -h --help --version'

_heatball_problem='--problem --drift --potential --noise --convention --initial --param --dim --time --at --samples --lift
    --degree --seed --cells --box'

_heatball_options()
{
    case $1 in
    sample) echo "--measure --dim --lift --radius -n --seed --first --dtype --json -o --plot" ;;
    constants) echo "--dim --lift --json" ;;
    budget) echo "--dim --drift-sup --div-sup --theta --u0-min --u0-max --u0-grad --tau --json" ;;
    solve)
        echo "$_heatball_problem --method --stderr --stderr-score --max-time --paths --path-times
            --state --save-every --resume --radius --from --precision --json -o --plot"
        ;;
    residual) echo "--model --tau $_heatball_problem --radii --quantity --json -o" ;;
    data)
        echo "-n --process --tau --part --resize --resample --binarize --range --dtype --seed --json -o
            --labels --plot"
        ;;
    train)
        echo "--data --loss --head --process --drift --noise --convention --param -n --held-out --standardise --labels
            --part --resize --resample --binarize --dequantise --limit
            --epochs --steps --max-time --batch --width --depth --skip --half --rate --ema --clip-gradient --tau-min
            --tau-max --tau-focus --seed --time-fraction --sigma-max --weight --anchors --nodes
            --anchor-tau-min --constraint-every --target-rows
            --checkpoint-every --resume -o --log --plot --json"
        ;;
    evaluate)
        echo "--data --tau -n --samples --radii --time-fraction --held-out --seed --json --plot"
        ;;
    certify)
        echo "--score --python --data --held-out --training --process --drift --param --initial --tau --tau-min --tau-max
            --tolerance --level --rows --pairs --time-fraction --flow-samples --label --max-time --seed --json --exit-code -o"
        ;;
    generate)
        echo "-n --solver --n-steps --n-correct --snr --det-tau --denoise --clip --tau-min --ode-tolerance --label
            --each-label --first --seed --columns --real --grey --json -o --plot"
        ;;
    helmholtz) echo "--tau --box --points --spacing --label --json -o" ;;
    study) echo "--quick --seeds --part --resume --seed -o" ;;
    reproduce) echo "--quick --only --resume --join --seed -o" ;;
    esac
}

_heatball()
{
    local commands='sample constants budget solve residual data train evaluate certify generate helmholtz study reproduce'
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
    [[ ($before == study || $before == generate || $before == evaluate || $before == certify || $before == helmholtz) && $word == -* ]] && before=
    local sets='asymmetric_gmm sparse_dense_gmm elongated_gmm two_spiral ring pinwheel two_moon
        double_ring'
    if [[ $command == data && $word != -* ]]; then
        case $before in
        data) COMPREPLY=($(compgen -W 'list fetch show export' -- "$word")) && return ;;
        fetch) COMPREPLY=($(compgen -W 'mnist fashion-mnist' -- "$word")) && return ;;
        show | export)
            COMPREPLY=($(compgen -W "$sets mnist fashion-mnist" -- "$word")) && return
            compopt -o filenames 2>/dev/null
            COMPREPLY=($(compgen -f -- "$word")) && return
            ;;
        esac
    fi
    if [[ $command == train && $before == --loss ]]; then
        COMPREPLY=($(compgen -W 'dsm fp hb hb-paper' -- "$word"))
        return
    fi
    if [[ $before == --data ]]; then
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -W "$sets" -- "$word") $(compgen -f -- "$word"))
        return
    fi
    if [[ $before == --model || $before == evaluate || $before == certify || ($command == helmholtz && $before == helmholtz) ]]; then
        local IFS=$'\n'
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$word"))
        return
    fi
    case $before in
    help) COMPREPLY=($(compgen -W "$commands" -- "$word")) ;;
    --measure) COMPREPLY=($(compgen -W 'kappa source gradient' -- "$word")) ;;
    --dtype) COMPREPLY=($(compgen -W 'f64 f32' -- "$word")) ;;
    --isa) COMPREPLY=($(compgen -W 'auto avx512 avx2 sse2 scalar' -- "$word")) ;;
    --precision) COMPREPLY=($(compgen -W 'error full' -- "$word")) ;;
    --method) COMPREPLY=($(compgen -W 'auto grid particles walk meanvalue guided all' -- "$word")) ;;
    --part) COMPREPLY=($(compgen -W 'train test' -- "$word")) ;;
    --resample) COMPREPLY=($(compgen -W 'area bilinear' -- "$word")) ;;
    --binarize) COMPREPLY=($(compgen -W 'none threshold stochastic' -- "$word")) ;;
    --range) COMPREPLY=($(compgen -W 'unit symmetric' -- "$word")) ;;
    --head) COMPREPLY=($(compgen -W 'score energy helmholtz' -- "$word")) ;;
    --standardise) COMPREPLY=($(compgen -W 'no common axis auto maps' -- "$word")) ;;
    --process)
        local processes='ou ve'
        [[ $command == certify ]] && processes='ou ve drift'
        COMPREPLY=($(compgen -W "$processes" -- "$word"))
        ;;
    --solver) COMPREPLY=($(compgen -W 'sde ode heun' -- "$word")) ;;
    --clip) COMPREPLY=($(compgen -W 'yes no' -- "$word")) ;;
    --denoise) COMPREPLY=($(compgen -W 'none mean flow' -- "$word")) ;;
    --real) COMPREPLY=($(compgen -W 'mnist fashion-mnist' -- "$word") $(compgen -f -- "$word")) ;;
    --convention) COMPREPLY=($(compgen -W 'ito stratonovich' -- "$word")) ;;
    --quantity) COMPREPLY=($(compgen -W 'u v w' -- "$word")) ;;
    --only | study) COMPREPLY=($(compgen -W 'identities sampler bistable planar dimension density drift mnist' -- "$word")) ;;
    generate | -o | --labels | --log | --plot | --problem | --from | --at | --paths | --path-times | --state)
        local IFS=$'\n'
        compopt -o filenames 2>/dev/null
        if [[ $command == budget ]]; then
            :
        elif [[ $command != study && $command != reproduce && $command != helmholtz ]]; then
            COMPREPLY=($(compgen -f -- "$word"))
        else
            COMPREPLY=($(compgen -d -- "$word"))
        fi
        ;;
    --dim | --lift | --radius | -n | --seed | --first | --threads | --seeds) ;;
    --drift-sup | --div-sup | --theta | --u0-min | --u0-max | --u0-grad) ;;
    --drift | --potential | --noise | --initial | --param | --time | --samples | --degree | --points | --cells | --box) ;;
    --rows | --held-out | --epochs | --steps | --batch | --width | --depth | --rate | --ema | --clip-gradient) ;;
    --tau-max | --time-fraction | --sigma-max | --weight | --anchors | --nodes | --target-rows) ;;
    --checkpoint-every) ;;
    --n-steps | --n-correct | --snr | --det-tau | --tau-min | --ode-tolerance | --label | --grey) ;;
    --limit | --columns) ;;
    --radii | --stderr | --stderr-score | --max-time | --tau | --resize) ;;
    *) COMPREPLY=($(compgen -W "$(_heatball_options "$command") $_heatball_common" -- "$word")) ;;
    esac
}

complete -F _heatball heatball
