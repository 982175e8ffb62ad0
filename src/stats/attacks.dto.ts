/** A network with rejected logins. */
export class AttackingNetworkResponse {
  /** CIDR: a /24 of IPv4 or a /64 of IPv6 @example 203.0.113.0/24 */
  network!: string;
  /** number of rejected logins @example 412 */
  refused!: number;
  /** number of different logins that were tried, known or not @example 96 */
  logins_tried!: number;
  /** time of the first rejected login */
  first_at!: Date;
  /** time of the last rejected login */
  last_at!: Date;
  /** end of the block of the whole network; only for callers without a scope */
  blocked_until?: Date;
}

/** A user with rejected logins. */
export class AttackedUserResponse {
  /** id of the user @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2 */
  user_id!: string;
  /** login name @example ada */
  name!: string;
  /** number of rejected logins @example 14 */
  refused!: number;
  /** number of networks that the logins came from @example 9 */
  networks!: number;
  /** time of the last rejected login */
  last_at!: Date;
}

/** The last 200,000 rejected logins of the last 24 hours, within the scope of the caller. */
export class AttacksResponse {
  /** networks with the most rejected logins first; at most 100 */
  networks!: AttackingNetworkResponse[];
  /** users with the most rejected logins first; at most 100 */
  users!: AttackedUserResponse[];
  /** number of rejected logins within the last hour @example 380 */
  refused_last_hour!: number;
  /** median of the rejected logins at this hour of the last 7 days @example 4 */
  usual_for_the_hour!: number;
}
