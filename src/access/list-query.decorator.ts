import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type DeclaredQuery, declaredQuery } from '../http/endpoint.decorator';
import type { ErrorCode } from '../http/errors/error-codes';
import { CursorCodec } from '../http/lists/cursor';
import { type FilterSpec, parseConditions, type RawQuery } from '../http/lists/filter';
import { type ListQuery as ParsedList, type ListSpec, parseListQuery } from '../http/lists/list-query';
import { filterParameters, listParameters, type ParameterDoc } from '../http/lists/parameters';
import { type Actor, identityOf } from './actor';

/** Context of the request whose query is parsed. */
export interface QueryContext {
  actor: Actor;
  cursors: CursorCodec;
  /** what a cursor is bound to besides its list: the actor and the ids in the path */
  owner: string;
}

/** Parses a query. Rejects unknown parameters. */
export type QueryParser = (query: RawQuery, context: QueryContext) => unknown;

interface QueryToParse {
  parse: QueryParser;
  request: FastifyRequest;
}

/** Parses the query of a request. Runs after the guards: callers without access learn nothing. */
@Injectable()
export class QueryPipe implements PipeTransform<QueryToParse> {
  constructor(private readonly cursors: CursorCodec) {}

  transform({ parse, request }: QueryToParse): unknown {
    const { actor, query, params } = request;
    if (actor === undefined) throw new Error('a parsed query on a route without @Allow');
    const owner = [identityOf(actor), ...Object.values(params as Record<string, string>)].join(' ');
    return parse(query as RawQuery, { actor, cursors: this.cursors, owner });
  }
}

const Query = createParamDecorator((parse: QueryParser, context: ExecutionContext): QueryToParse => ({
  parse,
  request: context.switchToHttp().getRequest<FastifyRequest>(),
}));

/** Error codes of `parseListQuery` besides `request.invalid`. */
export const pagingErrors: ErrorCode[] = ['page.too_deep', 'page.cursor_invalid'];

/** The parsed query of a list. */
export type ListQuery = ParsedList;

/**
 * Injects the parsed query of a list into a handler, and documents the parameters and their errors.
 * @param check rejects an actor before the query is parsed: a 403 comes before a 400
 */
export function ListQuery(spec: ListSpec, check?: (actor: Actor) => void): ParameterDecorator {
  const parse: QueryParser = (query, { actor, cursors, owner }) => {
    check?.(actor);
    return parseListQuery(query, spec, owner, cursors);
  };
  return ParsedQuery(parse, listParameters(spec), pagingErrors);
}

/** Injects the conditions of a filter into a handler, and documents the parameters. */
export function FilterQuery(spec: FilterSpec): ParameterDecorator {
  return ParsedQuery((query) => parseConditions(query, spec), filterParameters(spec));
}

/**
 * Injects the result of a query parser into a handler, and documents the parameters.
 * @param errors error codes of the parser besides `request.invalid`
 */
export function ParsedQuery(parse: QueryParser, query: ParameterDoc[], errors: ErrorCode[] = []): ParameterDecorator {
  return (target, name = '', index) => {
    const handler = (target as Record<string | symbol, object>)[name] as object;
    Reflect.defineMetadata(declaredQuery, { query, errors } satisfies DeclaredQuery, handler);
    Query(parse, QueryPipe)(target, name, index);
  };
}
