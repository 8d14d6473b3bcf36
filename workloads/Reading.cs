// How long TraceEvent takes to read the methods of a rundown in a .nettrace file.
//
//   Reading FILE PASSES     for each pass one line: METHODS NANOSECONDS
//
// The file is read into memory first. The first pass includes TraceEvent's own compilation at run time, later ones do not.

using System;
using System.IO;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Parsers;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

static class Reading
{
    static long methods;
    static long read;

    static int Main(string[] args)
    {
        if (args.Length != 2)
        {
            Console.Error.WriteLine("usage: Reading FILE.nettrace PASSES");
            return 64;
        }
        var content = new MemoryStream();
        using (var file = new FileStream(args[0], FileMode.Open, FileAccess.Read))
        {
            file.CopyTo(content);
        }
        for (int pass = int.Parse(args[1]); pass > 0; pass--)
        {
            methods = 0;
            long started = DateTime.UtcNow.Ticks;
            using (var source = new EventPipeEventSource(new MemoryStream(content.GetBuffer(), 0, (int)content.Length)))
            {
                var rundown = new ClrRundownTraceEventParser(source);
                rundown.MethodDCStopVerbose += Take;
                rundown.MethodDCStartVerbose += Take;
                source.Process();
            }
            // A tick is 100 ns.
            Console.WriteLine(methods + " " + (DateTime.UtcNow.Ticks - started) * 100);
        }
        return read > 0 ? 0 : 1;
    }

    // What a profiler keeps of a method: where it is and what it is called.
    static void Take(MethodLoadUnloadVerboseTraceData data)
    {
        methods++;
        read += (long)data.MethodStartAddress + data.MethodSize + data.MethodNamespace.Length + data.MethodName.Length
            + data.MethodSignature.Length;
    }
}
