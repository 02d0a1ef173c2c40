import { fileURLToPath } from 'node:url';

import type * as Grpc from '@grpc/grpc-js';
import type * as ProtoLoader from '@grpc/proto-loader';

export type GrpcPackage = typeof Grpc;
type ProtoLoaderPackage = typeof ProtoLoader;

/** Loads the gRPC packages, only where gRPC is used. @throws Error that names the missing package */
export async function loadGrpc(): Promise<GrpcPackage> {
  return load('@grpc/grpc-js', () => import('@grpc/grpc-js'));
}

/** Loads the service definitions of a file next to this one. */
export async function loadProto(file: string): Promise<ProtoLoader.PackageDefinition> {
  const loader = await load<ProtoLoaderPackage>('@grpc/proto-loader', () => import('@grpc/proto-loader'));
  return loader.loadSync(fileURLToPath(new URL(file, import.meta.url)), {
    keepCase: true,
    longs: Number,
    defaults: true,
  });
}

/** Returns one service of a loaded file. */
export function serviceOf(definition: ProtoLoader.PackageDefinition, name: string): ProtoLoader.ServiceDefinition {
  const found = definition[name];
  if (found === undefined || 'format' in found) throw new Error(`no such service: ${name}`);
  return found;
}

async function load<T>(name: string, importPackage: () => Promise<T>): Promise<T> {
  try {
    return await importPackage();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`gRPC needs the package ${name}, which is not installed: npm install ${name}`, { cause: error });
  }
}
