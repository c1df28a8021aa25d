# shellcheck shell=bash
# Sourced by scripts/setup: fetches mkdocs, which builds the site of the documentation, into a
# folder of Python modules. site has all packages that a build imports; those that only serve or
# publish a site are left out.
# shellcheck disable=SC2154 # python_at, pyyaml, profile, tools and work are of scripts/setup
mkdocs=1.6.1
material=9.8.2
site=("mkdocs==$mkdocs" "mkdocs-material==$material" "pyyaml==$pyyaml" backrefs==8.3.1 click==8.5.1
    jinja2==3.1.6 markdown==3.11.3 markupsafe==3.0.4 mergedeep==1.3.4 mkdocs-get-deps==0.2.2
    mkdocs-material-extensions==1.3.1 packaging==26.4 paginate==0.5.7 pathspec==1.1.1
    platformdirs==4.14.8 pygments==2.21.0 pymdown-extensions==13.1.2 pyyaml-env-tag==1.1)
pages=$tools/python-${python_at%.*}-mkdocs-$mkdocs-material-$material

if [ "${1-}${2+ $2}" = "--tool mkdocs" ]; then
    echo "$pages"
    exit
fi

# site_lacks: prints the folder if the job needs it and it does not exist.
site_lacks() {
    case $profile in
    check | docs) [ -e "$pages" ] || echo "$pages" ;;
    esac
}

# fetch_site: makes the folder. The import at the end fails if the list lacks a package.
fetch_site() {
    say "fetching mkdocs $mkdocs and mkdocs-material $material from PyPI: ${#site[@]} wheels, 17 MB"
    scratch
    mkdir -p "$work/site/wheels"
    python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: \
        -d "$work/site/wheels" "${site[@]}" >"$work/site.log" 2>&1 ||
        die "cannot fetch mkdocs $mkdocs, which builds the site (python3 -m pip download mkdocs==$mkdocs mkdocs-material==$material)"
    python3 -m pip install -q --disable-pip-version-check --no-index --no-deps --root-user-action ignore \
        --find-links "$work/site/wheels" "${site[@]}" --target "$work/site/lib" \
        </dev/null >"$work/site.log" 2>&1 ||
        die "cannot unpack ${site[*]}: $(tail -n 1 "$work/site.log")"
    PYTHONPATH=$work/site/lib python3 -c '
from mkdocs.commands import build
import material.extensions.emoji, material.plugins.offline.plugin, material.plugins.search.plugin' \
        >"$work/site.log" 2>&1 ||
        die "mkdocs $mkdocs does not work: $(tail -n 1 "$work/site.log") (correct site in scripts/setup-site.sh)"
    rm -rf "$work/site/wheels"
    mv "$work/site" "$pages"
}
