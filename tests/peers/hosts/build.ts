/** Installs the frameworks that Drawbridge is mounted in, and builds the app of Next.js. Keeps them while nothing has changed. */
import { buildHosts } from './host-app.ts'

buildHosts()
