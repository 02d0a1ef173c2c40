import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { ErrorScreen } from './last-resort.tsx';
import { applyTheme } from './theme.ts';
import './design/system.css';
import './styles.css';
import './live/live.css';
import './workflows/workflows.css';
import './findings/findings.css';
import './surface/surface.css';
import './jobs/jobs.css';
import './executors/executors.css';
import './pool/pool.css';
import './ui/ui.css';
import './shell/shell.css';
import './home/home.css';
import './runs/runs.css';
import './task/task.css';

applyTheme();
createRoot(document.getElementById('root')!).render(
  <ErrorScreen>
    <App />
  </ErrorScreen>,
);
