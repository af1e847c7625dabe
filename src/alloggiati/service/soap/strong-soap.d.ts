/** Types for the used part of strong-soap 6, which has no types of its own. */
declare module 'strong-soap' {
  export interface Wsdl {
    load (done: (error: Error | null, wsdl: Wsdl) => void): void
  }

  export interface HttpClient {
    options: { prettyPrint: boolean }
    request (location: string, xml: string): void
  }

  export type Method = (args: object, done: (error: Error | null) => void) => void

  export interface Client {
    /** Service, port and operation by name in the WSDL. */
    [service: string]: Record<string, Record<string, Method>>
  }

  interface StrongSoap {
    soap: {
      WSDL: new (content: string, uri: string, options: object) => Wsdl
      Client: new (wsdl: Wsdl, endpoint: string, options: { httpClient: HttpClient }) => Client
    }
  }

  const strongSoap: StrongSoap
  export default strongSoap
}
