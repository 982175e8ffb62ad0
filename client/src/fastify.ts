import type { FastifyReply, FastifyRequest } from 'fastify';
import { authorize } from './guard.js';
import type { Caller, Verifier } from './verifier.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** user or API key of the request, behind `requires` */
    caller: Caller;
  }
}

/** A hook of Fastify. */
export type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** Creates the guard of a Fastify application: `{ onRequest: requires('billing:read') }`. */
export function guard(verifier: Verifier): { requires: (...permissions: string[]) => Hook } {
  const requires = (...permissions: string[]): Hook => {
    return async (request, reply) => {
      const { caller, rejection } = await authorize(verifier, request.headers.authorization, permissions);
      if (rejection) return reply.code(rejection.status).headers(rejection.headers).send(rejection.body);
      request.caller = caller;
      return undefined;
    };
  };
  return { requires };
}
