import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { authorize } from './guard.js';
import type { Caller, Verifier } from './verifier.js';

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- extends the types of Express
  namespace Express {
    interface Request {
      /** user or API key of the request, behind `requires` */
      caller: Caller;
    }
  }
}

/** Creates the guard of an Express application: `app.get('/', requires('billing:read'), …)`. */
export function guard(verifier: Verifier): { requires: (...permissions: string[]) => RequestHandler } {
  const requires = (...permissions: string[]): RequestHandler => {
    return (request: Request, response: Response, next: NextFunction) => {
      authorize(verifier, request.headers.authorization, permissions)
        .then(({ caller, rejection }) => {
          if (response.headersSent) return undefined;
          if (rejection) return response.status(rejection.status).set(rejection.headers).json(rejection.body);
          request.caller = caller;
          return next();
        })
        .catch(next);
    };
  };
  return { requires };
}
