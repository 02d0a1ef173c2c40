export const INSERT_KIND = 'InsertData';
export const LIST_KIND = 'ListModels';
export const UPSERT_KIND = 'UpsertModels';
export const FILTER_KIND = 'Filter';
export const FILTER_MODELS_KIND = 'FilterModels';
export const FILTER_CHANGES_KIND = 'FilterChanges';
