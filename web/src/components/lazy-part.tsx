import { type ComponentType, lazy, type LazyExoticComponent } from 'react';
import { ApiProblem } from '../api/problems';
import { ProblemAlert } from './problem-alert';

/**
 * Returns a part of a page that is loaded when it is first shown, so that the first load of the
 * page stays small. If that fails, shows the problem in its place: the page may contain input.
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  const failed = new ApiProblem({ code: 'network.unreachable', status: 0 });
  return lazy(async () => ({ default: await load().catch(() => () => <ProblemAlert error={failed} />) }));
}
