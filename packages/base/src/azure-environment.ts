/** The variables by which the tools of Azure find an account for storage and its credentials. */
export type AzureEnvironment = Readonly<
  Partial<
    Record<
      'AZURE_STORAGE_CONNECTION_STRING' | 'AZURE_STORAGE_ACCOUNT' | 'AZURE_STORAGE_KEY' | 'AZURE_STORAGE_SAS_TOKEN',
      string
    >
  >
>;

const NAMES = [
  'AZURE_STORAGE_CONNECTION_STRING',
  'AZURE_STORAGE_ACCOUNT',
  'AZURE_STORAGE_KEY',
  'AZURE_STORAGE_SAS_TOKEN',
] as const;

/** Empty ones count as missing. */
export function azureEnvironment(): AzureEnvironment {
  return Object.fromEntries(NAMES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
