import { createAuthJsDriver } from './client-driver.ts'
import { describeProviderContract } from './provider-contract.ts'

describeProviderContract('@supabase/auth-js', 'first', createAuthJsDriver)
