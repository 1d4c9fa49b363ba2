"""The same objective and harness on other people's engines. Nothing here is imported by the rest of the
package."""
