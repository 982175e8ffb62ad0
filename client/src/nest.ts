import { type CanActivate, createParamDecorator, type ExecutionContext, HttpException } from '@nestjs/common';
import { authorize } from './guard.js';
import type { Caller, Verifier } from './verifier.js';

/** The parts of requests and responses that Express and Fastify share. */
interface GuardedRequest {
  headers: { authorization?: string };
  caller?: Caller;
}

/** Injects the user or API key of the request: `list(@CurrentCaller() caller: Caller)`. */
export const CurrentCaller: () => ParameterDecorator = createParamDecorator(
  (_: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<GuardedRequest>().caller,
);

/** Creates the guard of a Nest application: `@UseGuards(requires('billing:read'))`. */
export function guard(verifier: Verifier): { requires: (...permissions: string[]) => CanActivate } {
  const requires = (...permissions: string[]): CanActivate => ({
    async canActivate(context) {
      const request = context.switchToHttp().getRequest<GuardedRequest>();
      const { caller, rejection } = await authorize(verifier, request.headers.authorization, permissions);
      if (rejection) {
        const response = context.switchToHttp().getResponse<{ header(name: string, value: string): unknown }>();
        for (const [name, value] of Object.entries(rejection.headers)) response.header(name, value);
        throw new HttpException(rejection.body, rejection.status);
      }
      request.caller = caller;
      return true;
    },
  });
  return { requires };
}
