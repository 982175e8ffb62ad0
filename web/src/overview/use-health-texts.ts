import { sizeText } from '../components/size-text';
import { durationText } from '../components/time-text';
import { useLanguage } from '../texts/language';
import type { Health, Part } from './health';
import { useOverviewTexts } from './use-overview-texts';

/** Returns a function that sums up the figures of a part of the service in a few words. */
export function useHealthTexts(): { detailOf: (health: Health, part: Part) => string } {
  const { details } = useOverviewTexts().health;
  const language = useLanguage();
  const number = (value: number) => value.toLocaleString(language);
  const time = (seconds: number) => durationText(seconds, language);
  const size = (bytes: number) => sizeText(bytes, language);
  const detailOf = ({ mail, jobs, webhooks, database, disk }: Health, part: Part): string => {
    if (part === 'mail' && mail !== undefined)
      return mail.waiting === 0 ? details.nothingWaits : details.mail(number(mail.waiting), time(mail.oldest_seconds));
    if (part === 'jobs')
      return jobs.overdue + jobs.failed === 0
        ? details.onTime
        : details.jobs(number(jobs.overdue), number(jobs.failed));
    if (part === 'webhooks' && webhooks !== undefined)
      return webhooks.disabled + webhooks.failing > 0
        ? details.webhooks(number(webhooks.disabled), number(webhooks.failing))
        : webhooks.behind_seconds > 0
          ? details.behind(time(webhooks.behind_seconds))
          : details.onTime;
    if (part === 'database')
      return details.database(
        size(database.size_bytes),
        number(database.connections),
        number(database.connections_max),
      );
    return disk === undefined ? '' : details.disk(size(disk.free_bytes), size(disk.total_bytes));
  };
  return { detailOf };
}
