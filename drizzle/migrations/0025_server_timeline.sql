CREATE TABLE "registro_server" (
	"unica" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"sistema" text NOT NULL,
	"timeline" integer NOT NULL,
	CONSTRAINT "registro_server_uno" CHECK ("registro_server"."unica")
);
