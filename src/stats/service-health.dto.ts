import { ApiProperty } from '@nestjs/swagger';
import { namedEnum } from '../platform/named-enum';

/** State of a part of the service, the best first. */
export const healthStates = namedEnum('HealthState', ['ok', 'warning', 'critical']);
/** State of a part of the service. */
export type HealthState = (typeof healthStates)[number];

/** The mail queue. */
export class MailHealthResponse {
  /** `critical`: the mail server cannot be used; `warning`: mails fail */
  @ApiProperty({ enum: healthStates }) state!: HealthState;
  /** number of mails that wait for their first or next attempt @example 3 */
  waiting!: number;
  /** of these, mails that failed twice or got a 5xx response @example 1 */
  failing!: number;
  /** mails whose last attempt failed @example 0 */
  failed!: number;
  /** seconds since the oldest waiting mail was requested; 0 if none waits @example 12 */
  oldest_seconds!: number;
}

/** The jobs in the background, without mails. */
export class JobsHealthResponse {
  /** `critical`: jobs have stalled; `warning`: jobs failed */
  @ApiProperty({ enum: healthStates }) state!: HealthState;
  /** number of jobs that have been due or running for more than 10 minutes @example 0 */
  overdue!: number;
  /** number of jobs whose last attempt failed @example 0 */
  failed!: number;
  /** seconds since the oldest overdue job was due or began to run; 0 if none is overdue @example 0 */
  oldest_seconds!: number;
}

/** The webhooks of all users. */
export class WebhooksHealthResponse {
  /** `critical`: the service disabled a webhook; `warning`: a webhook fails or is 10 min late */
  @ApiProperty({ enum: healthStates }) state!: HealthState;
  /** number of webhooks that the service disabled @example 0 */
  disabled!: number;
  /** number of webhooks that fail @example 0 */
  failing!: number;
  /** seconds since the oldest change that an enabled webhook has not sent; 0 if all are sent @example 0 */
  behind_seconds!: number;
}

/** The database. */
export class DatabaseHealthResponse {
  /** `warning` at 80% of the connections, `critical` at 95% */
  @ApiProperty({ enum: healthStates }) state!: HealthState;
  /** size of the database in bytes @example 1073741824 */
  size_bytes!: number;
  /** open connections to the server, of all databases @example 12 */
  connections!: number;
  /** connections that the server allows @example 100 */
  connections_max!: number;
}

/** The disk of the embedded database. */
export class DiskHealthResponse {
  /** `warning` below 10% or 1 GiB, `critical` below 2% or 256 MiB of free space */
  @ApiProperty({ enum: healthStates }) state!: HealthState;
  /** free space in bytes @example 53687091200 */
  free_bytes!: number;
  /** total space in bytes @example 107374182400 */
  total_bytes!: number;
}

/** State of the parts of the service, at most a minute old. */
export class ServiceHealthResponse {
  /** jobs in the background */
  jobs!: JobsHealthResponse;
  /** database */
  database!: DatabaseHealthResponse;
  /** disk; absent unless the service runs the embedded database */
  disk?: DiskHealthResponse;
  /** mail; requires `mail:manage` */
  mail?: MailHealthResponse;
  /** webhooks; requires `webhook:manage` */
  webhooks?: WebhooksHealthResponse;
}
