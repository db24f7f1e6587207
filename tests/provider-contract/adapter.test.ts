import { createAdapterDriver } from './adapter-driver.ts'
import { describeProviderContract } from './provider-contract.ts'

describeProviderContract('our adapter', 'all', createAdapterDriver)
