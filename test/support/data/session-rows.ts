import type { TestService } from '../service';

type Rows = Pick<TestService, 'rows'>;
interface Session {
  session_id: string;
}

/** Returns columns of a session, or an empty object for a removed session. */
export async function sessionRow(
  service: Rows,
  { session_id }: Session,
  columns: string,
): Promise<Record<string, unknown>> {
  return (await service.rows(`select ${columns} from sessions where session_id = $1`, [session_id]))[0] ?? {};
}

/** Changes columns of a session, for example to move its times. */
export async function changeSession(service: Rows, { session_id }: Session, change: string): Promise<void> {
  await service.rows(`update sessions set ${change} where session_id = $1`, [session_id]);
}
