import { createAdapterDriver } from './adapter-driver.ts'
import { createAuthJsDriver } from './client-driver.ts'
import { mailCases } from './mail-cases.ts'
import { describeOnServers } from './stage.ts'

// In one file: the mails of a real server come to one port.
describeOnServers('a mail with our adapter', { servers: 'all', makeDriver: createAdapterDriver }, mailCases)
describeOnServers(
  'a mail with @supabase/auth-js',
  { servers: 'first', makeDriver: createAuthJsDriver },
  mailCases,
)
