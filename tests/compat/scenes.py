"""The scenes of the oracle: commands with fixed seeds on small data of our own, which the recording and the tests play alike.

`needs` names packages; a scene is skipped where one is missing. A scene starts from a copy of `material/`.
"""

from __future__ import annotations

from tests.compat.play import Scene
from tests.compat.servers import PORT

CHAT = f"run --model chat:stand-in --base-url http://127.0.0.1:{PORT}/v1 --set concurrency=1 --set how=parse"
PRETRAIN = (
    "pretrain corpus.txt --language ja --tokenizer characters --size tiny --vocabulary 400 "
    "--steps 60 --batch 512 --threads 1 --device cpu --out encoder"
)
JA, KO = ("fugashi", "ipadic"), ("kiwipiepy",)

SPLITS = (
    "split --json",
    "split pairs.jsonl --by random --question label --sizes 0.6,0.2,0.2 --seed 7 --card name=by-chance --out random --json",
    "split pairs.jsonl --by stratified --question label --sizes rest,9,9 --seed 3 --card name=even --out stratified --json",
    "split pairs.jsonl --by group --question label --sizes 0.6,0.2,0.2 --seed 3 --card name=whole --out group --json",
    "split pairs.jsonl --by group --field topic --question label --sizes 0.5,0.25,0.25 --card name=topics --out topics --json",
    "split pairs.jsonl --by date --field date --question label --sizes 0.7,0.15,0.15 --unseen 0.2 --card name=newest --out date --json",
    "split pairs.jsonl --by date --field date --after 2019-01-01 --question label --sizes 0.7,0.3 --card name=after --out after --json",
    "split pairs.jsonl --by balanced --field source --question label --sizes rest,8,8 --seed 5 --card name=level --out balanced --json",
    "split sims.jsonl --by flat --question score --field corpus --bins 6 --sizes rest,6,6 --seed 2 --card name=flat --out flat --json",
    "split entities.jsonl --by entities --sizes rest,5,5 --seed 4 --card name=unmet --out entities --json",
    "split mini-ja --by stratified --question label --sizes 0.8,0.2 --names learn,hold --seed 1 --out named --json",
    "split mini-ko --sizes rest,20,20 --seed 7 --json",
)

RULES = (
    "majority",
    "votes:3/5",
    "votes:4",
    "majority+half",
    "majority+share>=0.8",
    "majority+only:entailment|neutral",
    "majority+min:5",
    "dawid-skene",
    "mace",
    "dawid-skene+share>=0.9",
)
NUMBER_RULES = (
    "mean",
    "median",
    "mean+variance<1",
    "mean+sd<=2+round:1",
    "mean+sample-variance<1+up:1",
    "mean+sample-sd<=1+down:1",
    "mean+digits:3",
    "mean+binary:3",
)


def _rules(kind: str, rules: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        f"aggregate judgements.jsonl --question {kind} --rule '{rule}' --examples pairs.jsonl --out {kind}-{number} --json"
        for number, rule in enumerate(rules)
    )


SCENES: dict[str, Scene] = {
    "lists": Scene(
        (
            "tasks --json",
            "tasks mini-ja --json",
            "tasks jglue --json",
            "tasks own-data --json",
            "data list --json",
            "build --json",
            "build list --json",
            "clean --json",
            "pair --json",
            "perturb --json",
            "collect forms --json",
            "run models --json",
            "lexicon show ja --json",
            "lexicon show ko --json",
            "lexicon show ja --verb 読む --json",
            "lexicon show ko --verb 읽다 --json",
            "tag --json",
        ),
        varying=("patterns",),
    ),
    "recipes": Scene(
        tuple(
            f"build {name} --show-config --json"
            for name in (
                "jcommonsenseqa",
                "jnli",
                "jsquad",
                "jsts",
                "marc-ja",
                "jsick",
                "klue-ner",
                "klue-nli",
                "klue-re",
                "klue-sts",
                "ynat",
            )
        )
    ),
    "data": Scene(
        (
            "data show mini-ja --split dev -n 3 --json",
            "data show mini-ko --id nli-001 --json",
            "data show mini-ja --card --json",
            "data show mini-ko --card --json",
            "data show own-data -n 2 --json",
            "data show own-data --split test -n 2 --json",
            "data show own-data --card --json",
            "data show pairs.jsonl -n 1 --json",
            "data check mini-ja --json",
            "data check mini-ko --json",
            "data check own-data --json",
            "data check entities.jsonl --json",
            "data check sims.jsonl --json",
            "data shift mini-ja mini-ja --question score --json",
            "data fetch mini-ja --json",
            "data card bare --json",
            "data card bare --say name=bare --say licence=CC0-1.0 --overwrite --json",
        )
    ),
    "export": Scene(
        (
            "data export mini-ja --to jsonl --out mini-jsonl --json",
            "data export own-data --to jsonl --out own-jsonl --json",
            "data export entities.jsonl --to jsonl --out entities-jsonl --json",
        )
    ),
    "export-tables": Scene(
        (
            "data export mini-ko --to parquet --out mini-parquet --json",
            "data export own-data --to parquet --out own-parquet --json",
            "data export own-data --to hf --out own-hf --json",
            "data export own-data --to croissant --out own-croissant --json",
            "data export mini-ko --to hf --out mini-hf --json",
            "data export mini-ja --to croissant --out mini-croissant --json",
            "data show mini-parquet -n 1 --json",
        ),
        ("pyarrow",),
    ),
    "split": Scene(SPLITS),
    "split-artifact": Scene(
        (
            "split pairs.jsonl --by least-artifact --question label --sizes 0.6,0.2,0.2 --card name=least --out least --json",
        ),
        ("sklearn",),
    ),
    "perturb-ja": Scene(
        (
            "perturb particles perturb-ja.jsonl --out particles --json",
            "perturb surface perturb-ja.jsonl --out surface --json",
            "perturb surface perturb-ja.jsonl --input premise --input hypothesis --out both --json",
            "perturb scramble,swap --case ni perturb-ja.jsonl --out two --json",
            "perturb delete --case o --assume-eligible perturb-ja.jsonl --out deleted.jsonl --json",
            "perturb particles mini-ja:train --augment 2 --seed 3 --out additions.jsonl --json",
            "perturb particles mini-ja:train --augment 2 --augment-gold neutral --seed 3 --out neutral.jsonl --json",
        ),
        JA,
    ),
    "perturb-ko": Scene(
        (
            "perturb particles perturb-ko.jsonl --out particles --json",
            "perturb surface perturb-ko.jsonl --out surface --json",
            "perturb swap --case eul mini-ko --split train --out swapped.jsonl --json",
            "perturb surface perturb-ko.jsonl --input hypothesis --out hypothesis --json",
        ),
        KO,
    ),
    "tag": Scene(
        (
            "tag perturb-ja.jsonl --out tagged.jsonl --json",
            "tag mini-ja --pack jsick --out mini-tagged --json",
            "tag mini-ja --pack none --json",
            "tag mini-ja --compare --json",
            "tag mini-ja:dev --replace --input hypothesis --out replaced.jsonl --json",
            "tag perturb-ja.jsonl --pack weather.toml --out weather.jsonl --json",
            "tag --pack weather.toml --json",
            "tag --pack jsick --json",
        ),
        JA,
    ),
    "tag-ko": Scene(("tag mini-ko --out tagged --json", "tag --pack jsick-ko --json"), KO),
    "clean": Scene(
        (
            "clean texts-ja.txt --language ja --min-length 10 --out ja.jsonl --removed ja-removed.jsonl --json",
            "clean texts-ja.txt --language ja --min-length 8 --pii replace --source own --licence CC0 --out replaced.jsonl --json",
            "clean texts-ja.txt --steps sentences,blanks,length --min-length 10 --out short.jsonl --json",
            "clean texts-ko.txt --min-length 10 --out ko.jsonl --removed ko-removed.jsonl --json",
            "clean texts-ko.txt --min-length 5 --without duplicates,script --out without.jsonl --json",
            "clean articles.jsonl --min-length 10 --out articles-clean.jsonl --json",
            "rank links.tsv -n 4 --out best.tsv --json",
            "rank links.tsv -n 4 --sample 2 --seed 1 --json",
            "clean articles.jsonl --only best.tsv --min-length 10 --out chosen.jsonl --json",
        )
    ),
    "pair": Scene(
        (
            "pair greedy texts-ja.txt --units characters --seed 7 --out greedy.jsonl --json",
            "pair greedy texts-ja.txt --units characters --rouge 2 --out greedy-2.jsonl --json",
            "pair greedy-global texts-ko.txt --rouge 1 --out global.jsonl --json",
            "pair same-image images.jsonl --most 2 --seed 1 --out same.jsonl --json",
            "pair different-image images.jsonl --seed 1 --out different.jsonl --json",
            "pair same-intent images.jsonl --seed 1 --out intent.jsonl --json",
            "pair different-intent images.jsonl --within topic --seed 1 --out apart.jsonl --json",
            "pair round-trip texts-ko.txt --translator 'cat -n' --out trips.jsonl --json",
        )
    ),
    "pair-words": Scene(
        ("pair greedy texts-ja.txt --units ja --rouge L --out words.jsonl --json",), JA
    ),
    "aggregate-labels": Scene(_rules("label", RULES)),
    "aggregate-numbers": Scene(_rules("score", NUMBER_RULES)),
    "aggregate-others": Scene(
        (
            "aggregate ranked.jsonl --rule first+votes:2/3 --out ranked --json",
            "aggregate span-judgements.jsonl --rule majority --examples entities.jsonl --out spans --json",
            "aggregate span-judgements.jsonl --rule votes:2/3+min:3 --out spans-2 --json",
            "aggregate span-judgements.jsonl --rule votes:2 --out spans-3 --json",
            "aggregate ties.jsonl --rule majority --ties adjudicate --examples pairs.jsonl --out ties --json",
            "aggregate ties.jsonl --rule majority --ties drop --out ties-drop --json",
            "aggregate ties.jsonl --rule majority --ties prefer:entailment --out ties-prefer --json",
            "aggregate judgements.jsonl --rule label=majority --rule score=mean+round:1 --examples pairs.jsonl --out several --json",
            "aggregate sheet.csv --map example=task_id,worker=user,answer=label --rule votes:3/5 --out from-sheet --json",
            "aggregate judgements.jsonl --question label --rule majority --exclude 'agreement<0.7' --out excluded --json",
            "aggregate judgements.jsonl --question label --workers --exclude 'agreement<0.7' --known known.jsonl --pass-mark 0.8 --json",
            "aggregate mini-ja --rule label=majority --rule score=mean+round:1 --out mini --json",
            "aggregate mini-ja --question score --human --json",
            "aggregate mini-ko --question label --human --json",
            "split several/examples.jsonl --by group --question label --sizes 0.5,0.5 --card name=judged --card version=1.0 --card licence=CC0-1.0 --out judged --json",
            "lineage p1 --in judged --json",
        )
    ),
    "agree": Scene(
        (
            "agree judgements.jsonl --question label --resamples 50 --json",
            "agree judgements.jsonl --question score --resamples 50 --json",
            "agree judgements.jsonl --question score --level ordinal --by topic --examples pairs.jsonl --resamples 50 --json",
            "agree span-judgements.jsonl --resamples 50 --examples entities.jsonl --json",
            "agree mini-ja --question label --resamples 50 --json",
            "agree mini-ja --question score --plan --reliability 0.95 --items 1000 --price 5 --resamples 50 --json",
            "agree judgements.jsonl --question label --plan --rule 'votes:{half}/{k}' --yield 0.9 --resamples 50 --json",
            "agree judgements.jsonl --question label --resamples 50 --save saved.tsv --quiet",
            "agree judgements.jsonl --question label --resamples 50 --save saved.json --save-as label-studio --quiet",
            "agree judgements.jsonl --question label --resamples 50 --save saved.jsonl --save-as doccano --quiet",
            "agree judgements.jsonl --question label --resamples 50 --save yahoo.tsv --save-as yahoo --quiet",
            "agree judgements.jsonl --question label --resamples 50 --save lancers.csv --save-as lancers --quiet",
            "agree judgements.jsonl --question label --resamples 50 --save selectstar.json --save-as selectstar --quiet",
            "agree judgements.jsonl --question label --resamples 50 --page plots --json",
        )
    ),
    "generate-ja": Scene(
        (
            "generate temporal-ja@1 -n 1 -n test=1 --seed 1 --out temporal --json",
            "probe artifacts temporal --tokeniser characters --top 2 --json",
        )
    ),
    "generate-ko": Scene(("generate temporal-ko@1 -n 1 -n test=1 --seed 2 --out temporal --json",)),
    "generate-comparative": Scene(
        (
            "generate comparative-ja@1 -n 1 -n test=1 --seed 3 --split all --out comparative --json",
            "generate comparative-ja@1 -n 1000 --per total --seed 4 --out total --json",
        )
    ),
    "templates": Scene(
        (
            "templates check my-pack --json",
            "templates check comparative-ja --json",
            "templates show until-1 my-pack -n 2 --seed 5 --json",
            "generate my-pack -n 3 --seed 1 --split all --out made --json",
            "generate my-pack -n 2 --seed 1 --gate --tokeniser characters --out gated --json",
            "templates audit my-pack made/train.jsonl --json",
            "templates review made --export review.tsv -n 6 --pack my-pack --json",
            "data check made --json",
            "tasks made --json",
        )
    ),
    "lexicon": Scene(
        (
            "lexicon build novel.txt --out words --min-verb 2 --min-count 1 --licence CC0-1.0 --json",
            "lexicon show words --json",
        ),
        JA,
    ),
    "probe": Scene(
        (
            "probe artifacts mini-ja --tokeniser characters --top 3 --json",
            "probe artifacts mini-ko --tokeniser whitespace --side hypothesis --top 3 --json",
            "probe artifacts pairs.jsonl --tokeniser characters --question label --without source=blog --fail-over 0 --plot plot.svg --json",
        )
    ),
    "runs": Scene(
        (
            "run --model majority --tasks mini-ja-nli,mini-ja-sts --seeds 2 --out runs --workers 1 --json",
            "run --model majority --tasks own-data --out runs --workers 1 --json",
            "run list --out runs --json",
            "run list --out runs --task mini-ja-nli --json",
            "run diff 59704a651072 e3cda9e01e44 --out runs --json",
            "run --model majority --tasks mini-ja-nli --inputs hypothesis --share 0.5,1.0 --out shares --workers 1 --json",
            "run --model majority --tasks mini-ko-nli --shots 1 --out shots --workers 1 --json",
            "run --model majority --tasks mini-ja-nli --train mini-ja,mini-ko --out mixed --workers 1 --json",
            "analyse runs --tokeniser none --resamples 100 --json",
            "report runs --out page --rounds 100 --json",
            "run remove --out shares --unfinished --json",
            "run remove --out shots --task mini-ko-nli --yes --json",
        )
    ),
    "scores": Scene(
        (
            "run --model majority --tasks mini-ja-nli,mini-ja-sts --out runs --workers 1 --quiet",
            "score mini-ja-nli:test answers/label.jsonl --json",
            "score mini-ja-nli:test answers/label.jsonl --by gold --by topic --per-item items.jsonl --json",
            "score mini-ja-nli:test answers/half.jsonl --partial --metric macro-f1 --json",
            "score mini-ja-sts:test answers/score.jsonl --json",
            "score own-data:dev answers/own.jsonl --json",
            "score own-data:test answers/own-hidden.jsonl --hidden --json",
            "compare a=answers/label.jsonl b=answers/other.jsonl --task mini-ja-nli --split test --rounds 100 --by gold --json",
            "conformance golden.json --json",
        )
    ),
    "stress": Scene(
        (
            "perturb particles perturb-ja.jsonl --out sets --quiet",
            "stress answers/stress.jsonl answers/stress --task perturb-ja.jsonl --sets sets --resamples 100 --json",
        ),
        JA,
    ),
    "build-jnli": Scene(
        (
            "build jnli --config jnli.toml --out trial --simulate 1 --json",
            "build jnli --config jnli.toml --out trial --simulate 1 --json",
            "build jnli --config jnli.toml --out paused --json",
            "data show trial -n 1 --json",
            "data check trial --json",
            "lineage dev/0 --in trial --json",
        )
    ),
    "build-ynat": Scene(
        (
            "build ynat --config ynat.toml --out topics --simulate 2 --json",
            "build ynat --config ynat.toml --out waiting --json",
        )
    ),
    "amend": Scene(
        (
            "run --model majority --tasks mini-ja-nli --out runs --workers 1 --quiet",
            "build --amend mini-ja --relabel corrections.csv --out next --date 2026-01-02 --reason 'Dates looked at again.' --runs runs --json",
            "lineage test/nli-028 --in next --json",
            "data shift mini-ja next --json",
            "data show next --id nli-028 --json",
            "build --amend next --relabel second.csv --version 2.0 --out last --date 2026-01-03 --json",
        )
    ),
    "collect": Scene(
        (
            "collect new writing --examples premises.jsonl --form write-hypotheses --workers-per-item 1 --json",
            "collect import writing hypotheses.jsonl --json",
            "collect export writing --to examples --pseudonymise --out nameless.jsonl --json",
            "collect export writing --out judgements-out.jsonl --json",
            "collect status writing --json",
            "collect links writing rin mio --json",
            "collect password writing --name reader --role reviewer --json",
            "collect backup writing --out copy.db --json",
            "collect new judging --examples pairs.jsonl --form scale -k 2 --title 近さ --language en --set high=4 --json",
            "collect demo shown --no-serve --json",
        ),
        ("starlette", "uvicorn", "jinja2", "argon2"),
        ("seconds", "mean_seconds", "hours", "mean", "code"),
    ),
    "papers": Scene(
        tuple(
            f"reproduce {paper} --data bare --json" for paper in ("jglue", "klue", "jsick", "jamp")
        )
    ),
    "stored-runs": Scene(
        (
            "run list --out runs --json",
            "run --model majority --model baseline --tasks mini-ja-nli --seeds 2 --out runs --workers 1 --json",
            "run --model majority --tasks mini-ko-sts,own-data --out runs --workers 1 --json",
            "run --model 'Large model=replay:answers/label.jsonl' --tasks mini-ja-nli --out runs --workers 1 --json",
            "run diff 59704a651072 e3cda9e01e44 --out runs --json",
            "run diff cc008c7a9dbb 2ddaf944fbed --out runs --json",
            "score mini-ja-nli:test runs/mini-ja-nli--baseline--cc008c7a9dbb/predictions/test.jsonl --by gold --json",
            "compare runs/mini-ja-nli--baseline--cc008c7a9dbb/predictions/test.jsonl other=runs/mini-ja-nli--Large-model--2ddaf944fbed/predictions/test.jsonl --task mini-ja-nli --split test --rounds 100 --json",
            "analyse runs --tokeniser none --resamples 100 --overwrite --json",
            "report 'runs/mini-*' --out page --rounds 100 --no-analyses --json",
            "run list --out killed --json",
            "run --model baseline --tasks mini-ko-nli --out killed --workers 1 --json",
            "run remove --out runs --model majority --json",
            "run remove 40ba63613852 --out runs --yes --json",
            "run list --out runs --json",
        ),
        ("sklearn",),
        start="runs",
    ),
    "stored-builds": Scene(
        (
            "data show trial -n 1 --json",
            "data show trial --card --json",
            "data check trial --json",
            "lineage dev/0 --in trial --json",
            "lineage dev/0 --in trial-next --json",
            "data shift trial trial-next --json",
            "build jnli --config jnli.toml --out trial --simulate 1 --json",
            "build ynat --config ynat.toml --out waiting --json",
            "cp answers.csv waiting/people/topics/answers.csv",
            "build ynat --config ynat.toml --out waiting --json",
            "data show waiting -n 1 --json",
            "build --amend trial-next --relabel second.csv --out trial-last --date 2026-01-03 --json",
            "lineage dev/0 --in trial-last --json",
            "run --model majority --tasks trial --out runs --workers 1 --json",
        ),
        start="builds",
    ),
    "stored-datasets": Scene(
        (
            "tasks hidden --json",
            "data show hidden -n 1 --json",
            "data check hidden --json",
            "data export hidden --to jsonl --out copied --json",
            "run --model majority --tasks hidden --out runs --workers 1 --json",
            "data show perturbed -n 1 --json",
            "data check perturbed --json",
            "agree judgements.jsonl --question label --resamples 50 --json",
            "agree gold/judgements.jsonl --question score --resamples 50 --json",
            "aggregate gold/judgements.jsonl --rule label=majority --rule score=mean+round:1 --examples gold/examples.jsonl --out again --json",
            "lineage p1 --in judged --json",
            "data check judged --json",
            "split judged --by stratified --question label --sizes 0.5,0.5 --out parted --json",
            "templates audit my-pack made/train.jsonl --json",
            "generate my-pack -n 2 --seed 1 --split all --overwrite --out made --json",
            "run --model majority --tasks made --train made:no-hours --out runs --workers 1 --json",
            "tag made:test --pack none --json",
        ),
        start="datasets",
    ),
    "stored-tables": Scene(
        (
            "data show table -n 1 --json",
            "data check table --json",
            "data export table --to jsonl --out lines --json",
            "run --model majority --tasks table --out runs --workers 1 --json",
        ),
        ("pyarrow",),
        start="datasets",
    ),
    "stored-chat": Scene(
        (
            "run list --out talked --json",
            "run list --out broken --json",
            f"{CHAT} --set cache=replies --tasks mini-ja-nli --out talked --json",
            f"{CHAT} --set cache=replies --tasks mini-ja-nli --out again --json",
        ),
        ("httpx",),
        start="chat",
    ),
    "stored-project": Scene(
        (
            "collect status similarity --json",
            "collect export similarity --out again.jsonl --json",
            "collect export similarity --out sheet.csv --json",
            "collect export similarity --to label-studio --out studio.json --json",
            "collect export similarity --to doccano --out doccano.jsonl --json",
            "collect export similarity --to decisions --out decided.tsv --json",
            "collect links similarity rin mio sora --address http://127.0.0.1:8000 --json",
            "collect backup similarity --out copy.db --json",
            "agree again.jsonl --question score --resamples 50 --json",
            "aggregate again.jsonl --question score --rule mean+round:1 --examples similarity/examples.jsonl --out gold --json",
        ),
        ("starlette", "uvicorn", "jinja2", "argon2"),
        start="project",
    ),
}
