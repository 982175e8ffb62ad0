import { api, dataOf, type QueryOf, type Schema } from '../api/client';
import type { Change } from './change';

type Query = QueryOf<'changeUsers'>;
type BulkResponse = Schema<'BulkResponse'>;

/** What a bulk change would do. */
export type Preview = Schema<'BulkPreviewResponse'>;

/** A change or deletion of the users that match a filter. */
export interface BulkRequest {
  /** parameters of the filter; none = all users */
  filters: Record<string, string>;
  /** null = delete */
  change: Change | null;
}

/** Previews a bulk change. */
export async function previewBulk(request: BulkRequest): Promise<Preview> {
  return (await send(request, { dry_run: true })) as Preview;
}

/** Starts the previewed change, and returns the id of the operation. */
export async function confirmBulk(request: BulkRequest, { confirm_token }: Preview): Promise<string> {
  const response = await send(request, { confirm_token });
  return (response as Extract<BulkResponse, { operation_id: string }>).operation_id;
}

function send({ filters, change }: BulkRequest, options: Query): Promise<BulkResponse> {
  const everyone: Query = Object.keys(filters).length === 0 ? { everyone: true } : {};
  const query: Query = { ...(filters as Query), ...everyone, ...options };
  return change === null
    ? dataOf(api.DELETE('/user/all', { params: { query } }))
    : dataOf(api.PATCH('/user/all', { params: { query }, body: change }));
}
