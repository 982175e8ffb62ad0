import type { FastifyInstance } from 'fastify';
import { AppError } from '../../http/errors/app-error';
import { isSameSecret } from '../random';
import { metricsType, type MetricsService } from './metrics.service';

const bearer = /^Bearer +(\S+)$/i;

/**
 * Serves the metrics at a path of the main port to clients that send the token.
 * @see docs/monitoring.md
 */
export function serveMetrics(fastify: FastifyInstance, path: string, token: string, metrics: MetricsService): void {
  fastify.get(path, async ({ headers: { authorization } }, reply) => {
    if (authorization === undefined) throw new AppError('auth.token_missing');
    // In constant time: the response must not reveal how much of a guess is right (O15).
    if (!isSameSecret(bearer.exec(authorization)?.[1] ?? '', token)) throw new AppError('auth.token_invalid');
    return reply.header('content-type', metricsType).send(await metrics.render());
  });
}
