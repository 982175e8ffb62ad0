import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { api, dataOf, type Schema } from '../../api/client';

/** Whether a user can log in, and why not. */
export type LoginCheckResult = Schema<'LoginCheckResponse'>;
/** One reason why a user cannot log in, or must do more than log in. */
export type Cause = Schema<'LoginCauseResponse'>;
/** A mail to a user. */
export type UserMail = Schema<'UserMailResponse'>;

/** Returns the query that asks the service why a user cannot log in. */
export function useLoginCheck(user_id: string): UseQueryResult<LoginCheckResult> {
  return useQuery({
    queryKey: ['users', 'login-check', user_id],
    queryFn: ({ signal }) => dataOf(api.GET('/user/{user_id}/login-check', { params: { path: { user_id } }, signal })),
  });
}

/** Returns the newest mail that failed and is not sent yet. */
export function failedMailOf({ mails = [] }: LoginCheckResult): UserMail | undefined {
  return mails.find(({ last_error }) => last_error !== undefined);
}
