import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/page';
import { WebhookSettingsPage } from './webhook-settings.page';
import { WebhookPage } from './webhook.page';
import { WebhooksPage } from './webhooks.page';

/** Routes the pages about webhooks. */
export function WebhooksRoutes(): ReactNode {
  return (
    <Routes>
      <Route index element={<WebhooksPage />} />
      <Route path="create" element={<WebhookSettingsPage />} />
      <Route path=":id" element={<WebhookPage />} />
      <Route path=":id/edit" element={<WebhookSettingsPage />} />
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
