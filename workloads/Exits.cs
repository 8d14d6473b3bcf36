// Ways to end and to speak, by the first argument.
//
//   Exits NUMBER      ends at once with this exit code
//   Exits print       prints 10,000,000 bytes in lines of 100, ends with 0
//   Exits echo        copies standard input to standard output until it ends, then ends with 0
//   Exits segv        native code writes to an address that is not mapped: ends by SIGSEGV
//   Exits throw       an exception that nobody catches: ends by SIGABRT

using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;

static class Exits
{
    [DllImport("libc", EntryPoint = "memset")]
    static extern IntPtr Fill(IntPtr address, int value, UIntPtr count);

    static int Main(string[] args)
    {
        string mode = args.Length > 0 ? args[0] : "0";
        int code;
        if (int.TryParse(mode, out code))
        {
            return code;
        }
        switch (mode)
        {
            case "print":
                Print();
                return 0;
            case "echo":
                Echo();
                return 0;
            case "segv":
                Fill((IntPtr)16, 1, (UIntPtr)16);
                return 0;
            case "throw":
                throw new InvalidOperationException("nobody catches this");
            default:
                Console.Error.WriteLine("Exits: no mode " + mode);
                return 64;
        }
    }

    static void Print()
    {
        using (Stream output = Console.OpenStandardOutput())
        {
            for (int line = 0; line < 100000; line++)
            {
                byte[] bytes = Encoding.ASCII.GetBytes(line.ToString("D10").PadRight(99, '.') + "\n");
                output.Write(bytes, 0, bytes.Length);
            }
        }
    }

    static void Echo()
    {
        using (Stream input = Console.OpenStandardInput())
        using (Stream output = Console.OpenStandardOutput())
        {
            var buffer = new byte[4096];
            int count;
            while ((count = input.Read(buffer, 0, buffer.Length)) > 0)
            {
                output.Write(buffer, 0, count);
                output.Flush();
            }
        }
    }
}
