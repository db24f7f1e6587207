import { describeEverySuite } from './suites/every-suite.ts'

describeEverySuite('chromium')
