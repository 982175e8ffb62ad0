import './styles.css';
import './print.css';
import '@mantine/core/styles.layer.css';
import { StrictMode } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { firstData } from './api/first-data';
import { App } from './app';
import { applySecurity } from './security';
import { watchActivity } from './session/activity';
import { restoreSession } from './session/session';

/** In development, what stays when an edit runs this module again. */
const kept = import.meta.hot?.data as { root?: Root } | undefined;
import.meta.hot?.accept();
if (kept?.root === undefined) {
  applySecurity();
  watchActivity();
}
void restoreSession();
// Names the files of all scripts; browsers load only those of the letters on the page. Without
// them, the page keeps the local font.
void firstData.then(() => import('@fontsource-variable/inter/wght.css')).catch(() => undefined);
const element = document.getElementById('root');
if (element === null) throw new Error('index.html has no root');
const root = kept?.root ?? createRoot(element);
if (kept !== undefined) kept.root = root;
root.render(
  <StrictMode>
    <App />
  </StrictMode>,
);
