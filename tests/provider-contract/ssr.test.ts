import { createServerClient } from '@supabase/ssr'
import { createClientDriver } from './client-driver.ts'
import { describeProviderContract } from './provider-contract.ts'

describeProviderContract('@supabase/ssr', 'first', ({ projectUrl, apiKey }, send) =>
  createClientDriver(() => {
    const jar = new Map<string, string>()
    return createServerClient(projectUrl, apiKey, {
      cookies: {
        getAll: () => [...jar].map(([name, value]) => ({ name, value })),
        setAll(cookies) {
          for (const { name, value, options } of cookies) {
            if (value === '' || options.maxAge === 0) jar.delete(name)
            else jar.set(name, value)
          }
        },
      },
      global: { fetch: send },
    }).auth
  }),
)
