import type { MethodDefinition } from '@grpc/proto-loader';

import type { SignedRequest, SignedResponse } from '../protocol/envelope.ts';
import { malformed } from '../protocol/refusal.ts';
import { loadProto, serviceOf } from './packages.ts';

export const EXECUTOR_SERVICE = 'heddle.remote.v1.Executor';

/** Trailing metadata of a call that failed with an unsigned answer: its code, and the answer itself. */
export const CODE_METADATA = 'heddle-code';
export const ANSWER_METADATA = 'heddle-answer-bin';

/** An answer, and whether it is the last one of its call. */
export interface WireAnswer {
  readonly response: SignedResponse;
  readonly final: boolean;
}

/** Encodes and decodes the messages of heddle-remote.proto. */
export interface GrpcWire {
  readonly callPath: string;
  readonly watchPath: string;
  encodeRequest(request: SignedRequest): Buffer;
  /** Decodes a request; only the field types are verified. @throws RemoteFailure MALFORMED */
  decodeRequest(bytes: Buffer): SignedRequest;
  encodeAnswer(answer: WireAnswer): Buffer;
  /** @throws Error if the bytes are not an answer */
  decodeAnswer(bytes: Buffer): WireAnswer;
}

let loaded: Promise<GrpcWire> | null = null;

/** Loads the definitions once. */
export function loadWire(): Promise<GrpcWire> {
  loaded ??= readDefinitions();
  return loaded;
}

type Method = MethodDefinition<object, object>;

async function readDefinitions(): Promise<GrpcWire> {
  const service = serviceOf(await loadProto('heddle-remote.proto'), EXECUTOR_SERVICE);
  const call = service['Call'] as Method;
  const watch = service['Watch'] as Method;
  return {
    callPath: call.path,
    watchPath: watch.path,
    encodeRequest: (request) => call.requestSerialize(request),
    decodeRequest: (bytes) => requestOf(call, bytes),
    encodeAnswer: ({ response, final }) => call.responseSerialize({ ...response, final }),
    decodeAnswer: (bytes) => {
      const { final, ...response } = call.responseDeserialize(bytes) as SignedResponse & { final: boolean };
      return { response, final };
    },
  };
}

function requestOf(call: Method, bytes: Buffer): SignedRequest {
  try {
    return call.requestDeserialize(bytes) as SignedRequest;
  } catch {
    throw malformed('the message is not an Envelope of heddle.remote.v1');
  }
}
