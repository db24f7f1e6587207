import { AuthClient } from '@supabase/auth-js'
import { createClientDriver } from './client-driver.ts'
import { describeProviderContract } from './provider-contract.ts'

describeProviderContract('@supabase/auth-js', 'first', ({ authUrl, apiKey }, send) =>
  createClientDriver(
    () =>
      new AuthClient({
        url: authUrl,
        headers: { apikey: apiKey },
        fetch: send,
        flowType: 'pkce',
        persistSession: false,
        autoRefreshToken: false,
      }),
  ),
)
