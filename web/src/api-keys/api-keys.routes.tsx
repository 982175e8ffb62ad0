import type { ReactNode } from 'react';
import { Route, Routes } from 'react-router';
import { NotFoundPage } from '../components/page';
import { ApiKeyPage } from './api-key.page';
import { ApiKeysPage } from './api-keys.page';
import { CreateApiKeyPage } from './create-api-key.page';

/** Routes the pages about API keys. */
export function ApiKeysRoutes(): ReactNode {
  return (
    <Routes>
      <Route index element={<ApiKeysPage />} />
      <Route path="create" element={<CreateApiKeyPage />} />
      <Route path=":id" element={<ApiKeyPage />} />
      <Route path="*" element={<NotFoundPage />} />
    </Routes>
  );
}
