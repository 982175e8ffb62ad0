import { QueryClient } from '@tanstack/react-query';
import { isProblem } from './problems';

const attemptsMax = 3;

/** The cache of everything that the console read from the API. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) =>
        failures < attemptsMax && isProblem(error) && (error.status === 0 || error.status === 503),
    },
  },
});
