import type { ChildProcess } from 'node:child_process';
import type { Client } from 'pg';

/** Input of the load processes, as JSON. */
export interface World {
  fresh: string[];
}

/** Requests that are sent at a fixed rate (see paced-load.js). */
export interface Stream {
  name: string;
  rate: number;
  requests: object[];
}

/** Fills a migrated database with two carriers, and signs access tokens. */
export function createWorld(
  client: Client,
  environment: Record<string, string>,
  size: { attackers: number; neighbours: number; seconds: number; pinned: boolean },
): Promise<World>;

/** Returns the streams of the neighbour's ordinary work. `tag` makes new names unique. */
export function ordinaryWork(world: World, seconds: number, tag: string): Stream[];

/** Starts to sample the memory. The returned function returns its growth in MiB. */
export function watchMemory(
  child: Pick<ChildProcess, 'pid' | 'exitCode'>,
  client: Client,
  database: string,
): Promise<() => Promise<{ service: number; database: number }>>;
