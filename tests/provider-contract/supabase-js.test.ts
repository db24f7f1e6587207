import { createClient } from '@supabase/supabase-js'
import { createClientDriver } from './client-driver.ts'
import { describeProviderContract } from './provider-contract.ts'

describeProviderContract('@supabase/supabase-js', 'last', ({ projectUrl, apiKey }, send) =>
  createClientDriver(
    () =>
      createClient(projectUrl, apiKey, {
        auth: { flowType: 'pkce', persistSession: false, autoRefreshToken: false },
        global: { fetch: send },
      }).auth,
  ),
)
