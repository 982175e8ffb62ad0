import './styles.css';
import './print.css';
// Names the files of all scripts; browsers load only those of the letters on the page.
import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.layer.css';
import '@mantine/notifications/styles.layer.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app';
import { applySecurity } from './security';
import { watchActivity } from './session/activity';
import { restoreSession } from './session/session';

applySecurity();
watchActivity();
void restoreSession();
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no root');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
