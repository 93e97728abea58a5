"""The tasks and groups that are compared, by what is special about them."""

from __future__ import annotations

NAMES: dict[str, str] = {
    "choices by likelihood": "arc_easy ai2_arc mmlu_anatomy boolq wic wsc sglue_rte anli_r1 anli piqa "
    "openbookqa sciq race commonsense_qa pubmedqa medqa_4options mathqa mnli sst2 wnli rte qnli "
    "belebele_eng_Latn belebele_fra_Latn xnli_en xstorycloze_en blimp_adjunct_island logiqa swag "
    "social_iqa longbench2_govt_single headqa_en truthfulqa_mc1 hellaswag copa xcopa_it toxigen",
    "worked examples, drawn or first": "mmlu gsm8k gsm8k_platinum ceval-valid_law cmmlu_anatomy "
    "kmmlu_hard_accounting kmmlu_hard arc_challenge leaderboard_mmlu_pro "
    "mmlu_flan_n_shot_loglikelihood_anatomy aime24 wmt16-ro-en",
    "fewshot_config in full": "mmlu_pro_biology gsm8k_cot gsm8k_cot_llama minerva_math_algebra "
    "leaderboard_math_algebra_hard mmlu_flan_cot_fewshot_anatomy bbh_cot_fewshot bbh_fewshot",
    "filters": "gsm8k_cot_zeroshot gpqa_main_cot_n_shot gpqa_diamond_cot_zeroshot "
    "mmlu_flan_n_shot_generative_anatomy mmlu_flan_cot_zeroshot_anatomy "
    "gpqa_diamond_generative_n_shot arc_challenge_chat mgsm_direct_en mgsm_en_cot_en "
    "mgsm_en_cot_de mgsm_native_cot_fr bbh_zeroshot_boolean_expressions "
    "bbh_cot_fewshot_boolean_expressions",
    "repeats and votes": "gsm8k_cot_self_consistency humaneval_64",
    "programs, run in a sandbox": "humaneval humaneval_instruct humaneval_plus mbpp mbpp_instruct "
    "mbpp_plus mbpp_plus_instruct",
    "classes that ask themselves": "fda swde squad_completion",
    "recipes of unitxt": "20_newsgroups",
    "process_results of text": "drop xquad_en mlqa_en_en coqa ifeval leaderboard_ifeval eq_bench "
    "truthfulqa_gen hendrycks_math_algebra longbench_hotpotqa longbench_qmsum longbench_trec "
    "longbench_2wikimqa longbench_gov_report longbench_lcc longbench_passage_count",
    "process_results of likelihoods": "truthfulqa_mc2 agieval_aqua_rat agieval_lsat_ar "
    "agieval_logiqa_en crows_pairs_english record",
    "scores of classes": "cb mrpc qqp cola multirc",
    "scores of translations": "wmt14-en-fr wmt14-fr-en wmt16-en-ro wmt16-de-en",
    "several right answers": "triviaqa nq_open webqs",
    "choices that are questions": "winogrande xwinograd_en xwinograd",
    "gen_prefix, data with choices": "mmlu_llama_anatomy arc_challenge_llama",
    "process_docs": "paws_en pawsx global_mmlu_full_en_anatomy gpqa_main_zeroshot leaderboard_gpqa",
    "data files by address": "arithmetic_1dc arithmetic_2da arithmetic prost",
    "loglikelihood and perplexity": "lambada_openai lambada_standard lambada_openai_cloze_yaml asdiv "
    "wikitext pile_arxiv",
    "generation, exact match": "anagrams1 anagrams2 cycle_letters unscramble",
    "groups": "leaderboard_bbh leaderboard_math_hard leaderboard_musr hendrycks_math minerva_math "
    "mmlu_continuation xcopa xstorycloze mgsm_direct truthfulqa glue super-glue-lm-eval-v1 "
    "leaderboard_bbh_boolean_expressions",
}
"""Feature → names. What the harness cannot give a steady number of itself is left out."""

WITH_A_MODEL = ("arc_easy", "lambada_openai", "wikitext", "gsm8k")
"""Those that a real model is asked as well, document by document."""


def names() -> list[str]:
    """All of them, each once."""
    return list(dict.fromkeys(name for listed in NAMES.values() for name in listed.split()))


def feature_of(name: str) -> str:
    """What is special about one."""
    return next(feature for feature, listed in NAMES.items() if name in listed.split())
