/** A value of a document; structs are maps, base64 is bytes. */
export type XmlRpcValue = string | number | boolean | Uint8Array | readonly XmlRpcValue[] | XmlRpcStruct;
export type XmlRpcStruct = ReadonlyMap<string, XmlRpcValue>;

export type XmlRpcDocument =
  | { readonly kind: 'call'; readonly method: string; readonly params: readonly XmlRpcValue[] }
  | { readonly kind: 'response'; readonly value: XmlRpcValue }
  | { readonly kind: 'fault'; readonly code: number; readonly message: string };

export function isStruct(value: XmlRpcValue | undefined): value is XmlRpcStruct {
  return value instanceof Map;
}
