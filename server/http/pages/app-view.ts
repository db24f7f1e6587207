/** The web app behind it all: what people call it, and where accounts are created. */
export interface AppView {
  appName: string
  appUrl: string
}
