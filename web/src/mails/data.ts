import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, dataOf, type QueryOf, type Schema } from '../api/client';
import { changed } from '../api/stale';

/** An unsent e-mail. */
export type Mail = Schema<'MailResponse'>;

/** Returns the query of a page of unsent e-mails. */
export const mailsQuery = (query: QueryOf<'listMails'>) =>
  queryOptions({
    queryKey: ['mails', 'list', query],
    queryFn: ({ signal }) => dataOf(api.GET('/mail/list', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

/** Sends an e-mail again. */
export async function retryMail(mail_id: string): Promise<void> {
  await api.POST('/mail/{mail_id}/retry', { params: { path: { mail_id } } });
  await changed('mails');
}
