import type { TestService } from '../service';

/** Work that a bulk request of more than 10,000 users would hand over to the runner. */
export interface AcceptedWork {
  /** the user who requests the work */
  actor_id: string;
  /** ids of the users of each batch */
  batches: string[][];
  /** fields to change, or null to delete the users */
  change: object | null;
  /** seconds since the last progress of the operation */
  waited?: number;
}

/** Accepts an operation with few users per batch, and returns its id. */
export async function acceptWork(
  service: Pick<TestService, 'rows'>,
  { actor_id, batches, change, waited = 0 }: AcceptedWork,
): Promise<string> {
  const kind = change === null ? 'delete' : 'change';
  const request = change === null ? { filters: {} } : { filters: {}, change };
  const [accepted] = await service.rows<{ operation_id: string }>(
    `
      with operation as (
        insert into operations (
          operation_id, kind, permission, status, actor_type, actor_id, request, total, progressed_at
        )
        values (
          uuid_v7(), $1, case $1 when 'delete' then 'user:delete' else 'user:update' end, 'waiting', 'user', $2, $3,
          $4, now() - make_interval(secs => $5)
        )
        returning operation_id
      ),
      batches as (
        insert into operation_batches (operation_id, number, user_ids)
        select
          (select operation_id from operation), number - 1,
          array(select id::uuid from jsonb_array_elements_text(ids) id order by 1)
        from jsonb_array_elements($6) with ordinality as batch (ids, number)
      )
      select
        operation_id,
        graphile_worker.add_job('run-operations', '{"lane":"users"}', job_key => 'run-operations:users'),
        graphile_worker.add_job('run-operations', '{"lane":"files"}', job_key => 'run-operations:files')
      from operation`,
    [kind, actor_id, request, batches.flat().length, waited, JSON.stringify(batches)],
  );
  return accepted?.operation_id ?? '';
}
